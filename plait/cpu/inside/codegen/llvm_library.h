// LLVM's C interface, with the library loaded on first use, so that programs that compile nothing
// do not pay for its hundred megabytes. A function that is not in the list at the end is undefined
// when Plait is linked.
#pragma once

#include <llvm-c/Analysis.h>
#include <llvm-c/Core.h>
#include <llvm-c/Error.h>
#include <llvm-c/LLJIT.h>
#include <llvm-c/Orc.h>
#include <llvm-c/Support.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>

namespace plait::cpu {

// Returns whether the library is available in the version that Plait was built with; if not, this
// is logged once.
bool has_llvm();
// The address of a function of LLVM. Throws IoError if the library is not available.
void* llvm_function(const char* name);

}  // namespace plait::cpu

#define PLAIT_LLVM(name)                                                       \
  ([] {                                                                        \
    static const auto function =                                               \
        reinterpret_cast<decltype(&(name))>(plait::cpu::llvm_function(#name)); \
    return function;                                                           \
  }())

#define LLVMAddAttributeAtIndex PLAIT_LLVM(LLVMAddAttributeAtIndex)
#define LLVMAddFunction PLAIT_LLVM(LLVMAddFunction)
#define LLVMAddIncoming PLAIT_LLVM(LLVMAddIncoming)
#define LLVMAppendBasicBlockInContext PLAIT_LLVM(LLVMAppendBasicBlockInContext)
#define LLVMArrayType2 PLAIT_LLVM(LLVMArrayType2)
#define LLVMBuildAShr PLAIT_LLVM(LLVMBuildAShr)
#define LLVMBuildAdd PLAIT_LLVM(LLVMBuildAdd)
#define LLVMBuildAlloca PLAIT_LLVM(LLVMBuildAlloca)
#define LLVMBuildAnd PLAIT_LLVM(LLVMBuildAnd)
#define LLVMBuildBitCast PLAIT_LLVM(LLVMBuildBitCast)
#define LLVMBuildBr PLAIT_LLVM(LLVMBuildBr)
#define LLVMBuildCall2 PLAIT_LLVM(LLVMBuildCall2)
#define LLVMBuildCondBr PLAIT_LLVM(LLVMBuildCondBr)
#define LLVMBuildExtractElement PLAIT_LLVM(LLVMBuildExtractElement)
#define LLVMBuildFAdd PLAIT_LLVM(LLVMBuildFAdd)
#define LLVMBuildFCmp PLAIT_LLVM(LLVMBuildFCmp)
#define LLVMBuildFDiv PLAIT_LLVM(LLVMBuildFDiv)
#define LLVMBuildFMul PLAIT_LLVM(LLVMBuildFMul)
#define LLVMBuildFNeg PLAIT_LLVM(LLVMBuildFNeg)
#define LLVMBuildFPExt PLAIT_LLVM(LLVMBuildFPExt)
#define LLVMBuildFPTrunc PLAIT_LLVM(LLVMBuildFPTrunc)
#define LLVMBuildFSub PLAIT_LLVM(LLVMBuildFSub)
#define LLVMBuildGEP2 PLAIT_LLVM(LLVMBuildGEP2)
#define LLVMBuildICmp PLAIT_LLVM(LLVMBuildICmp)
#define LLVMBuildInsertElement PLAIT_LLVM(LLVMBuildInsertElement)
#define LLVMBuildLShr PLAIT_LLVM(LLVMBuildLShr)
#define LLVMBuildLoad2 PLAIT_LLVM(LLVMBuildLoad2)
#define LLVMBuildMemCpy PLAIT_LLVM(LLVMBuildMemCpy)
#define LLVMBuildMul PLAIT_LLVM(LLVMBuildMul)
#define LLVMBuildNSWAdd PLAIT_LLVM(LLVMBuildNSWAdd)
#define LLVMBuildNeg PLAIT_LLVM(LLVMBuildNeg)
#define LLVMBuildNot PLAIT_LLVM(LLVMBuildNot)
#define LLVMBuildOr PLAIT_LLVM(LLVMBuildOr)
#define LLVMBuildPhi PLAIT_LLVM(LLVMBuildPhi)
#define LLVMBuildRetVoid PLAIT_LLVM(LLVMBuildRetVoid)
#define LLVMBuildSExt PLAIT_LLVM(LLVMBuildSExt)
#define LLVMBuildSIToFP PLAIT_LLVM(LLVMBuildSIToFP)
#define LLVMBuildSelect PLAIT_LLVM(LLVMBuildSelect)
#define LLVMBuildShl PLAIT_LLVM(LLVMBuildShl)
#define LLVMBuildShuffleVector PLAIT_LLVM(LLVMBuildShuffleVector)
#define LLVMBuildStore PLAIT_LLVM(LLVMBuildStore)
#define LLVMBuildSub PLAIT_LLVM(LLVMBuildSub)
#define LLVMBuildTrunc PLAIT_LLVM(LLVMBuildTrunc)
#define LLVMBuildUDiv PLAIT_LLVM(LLVMBuildUDiv)
#define LLVMBuildUIToFP PLAIT_LLVM(LLVMBuildUIToFP)
#define LLVMBuildURem PLAIT_LLVM(LLVMBuildURem)
#define LLVMBuildXor PLAIT_LLVM(LLVMBuildXor)
#define LLVMBuildZExt PLAIT_LLVM(LLVMBuildZExt)
#define LLVMConstBitCast PLAIT_LLVM(LLVMConstBitCast)
#define LLVMConstInt PLAIT_LLVM(LLVMConstInt)
#define LLVMConstNull PLAIT_LLVM(LLVMConstNull)
#define LLVMConstReal PLAIT_LLVM(LLVMConstReal)
#define LLVMConstVector PLAIT_LLVM(LLVMConstVector)
#define LLVMContextCreate PLAIT_LLVM(LLVMContextCreate)
#define LLVMContextDispose PLAIT_LLVM(LLVMContextDispose)
#define LLVMCreateBuilderInContext PLAIT_LLVM(LLVMCreateBuilderInContext)
#define LLVMCreateEnumAttribute PLAIT_LLVM(LLVMCreateEnumAttribute)
#define LLVMCreateMemoryBufferWithMemoryRangeCopy \
  PLAIT_LLVM(LLVMCreateMemoryBufferWithMemoryRangeCopy)
#define LLVMCreatePassBuilderOptions PLAIT_LLVM(LLVMCreatePassBuilderOptions)
#define LLVMCreateStringAttribute PLAIT_LLVM(LLVMCreateStringAttribute)
#define LLVMCreateTargetDataLayout PLAIT_LLVM(LLVMCreateTargetDataLayout)
#define LLVMCreateTargetMachine PLAIT_LLVM(LLVMCreateTargetMachine)
#define LLVMDisposeBuilder PLAIT_LLVM(LLVMDisposeBuilder)
#define LLVMDisposeErrorMessage PLAIT_LLVM(LLVMDisposeErrorMessage)
#define LLVMDisposeMemoryBuffer PLAIT_LLVM(LLVMDisposeMemoryBuffer)
#define LLVMDisposeMessage PLAIT_LLVM(LLVMDisposeMessage)
#define LLVMDisposeModule PLAIT_LLVM(LLVMDisposeModule)
#define LLVMDisposePassBuilderOptions PLAIT_LLVM(LLVMDisposePassBuilderOptions)
#define LLVMDisposeTargetData PLAIT_LLVM(LLVMDisposeTargetData)
#define LLVMDoubleTypeInContext PLAIT_LLVM(LLVMDoubleTypeInContext)
#define LLVMFloatTypeInContext PLAIT_LLVM(LLVMFloatTypeInContext)
#define LLVMFunctionType PLAIT_LLVM(LLVMFunctionType)
#define LLVMGetBufferSize PLAIT_LLVM(LLVMGetBufferSize)
#define LLVMGetBufferStart PLAIT_LLVM(LLVMGetBufferStart)
#define LLVMGetDefaultTargetTriple PLAIT_LLVM(LLVMGetDefaultTargetTriple)
#define LLVMGetElementType PLAIT_LLVM(LLVMGetElementType)
#define LLVMGetEntryBasicBlock PLAIT_LLVM(LLVMGetEntryBasicBlock)
#define LLVMGetEnumAttributeKindForName PLAIT_LLVM(LLVMGetEnumAttributeKindForName)
#define LLVMGetErrorMessage PLAIT_LLVM(LLVMGetErrorMessage)
#define LLVMGetHostCPUFeatures PLAIT_LLVM(LLVMGetHostCPUFeatures)
#define LLVMGetHostCPUName PLAIT_LLVM(LLVMGetHostCPUName)
#define LLVMGetInsertBlock PLAIT_LLVM(LLVMGetInsertBlock)
#define LLVMGetIntTypeWidth PLAIT_LLVM(LLVMGetIntTypeWidth)
#define LLVMGetIntrinsicDeclaration PLAIT_LLVM(LLVMGetIntrinsicDeclaration)
#define LLVMGetMDKindIDInContext PLAIT_LLVM(LLVMGetMDKindIDInContext)
#define LLVMGetNamedFunction PLAIT_LLVM(LLVMGetNamedFunction)
#define LLVMGetNextBasicBlock PLAIT_LLVM(LLVMGetNextBasicBlock)
#define LLVMGetParam PLAIT_LLVM(LLVMGetParam)
#define LLVMGetPoison PLAIT_LLVM(LLVMGetPoison)
#define LLVMGetTargetFromTriple PLAIT_LLVM(LLVMGetTargetFromTriple)
#define LLVMGetTargetMachineTriple PLAIT_LLVM(LLVMGetTargetMachineTriple)
#define LLVMGetTypeKind PLAIT_LLVM(LLVMGetTypeKind)
#define LLVMGetVectorSize PLAIT_LLVM(LLVMGetVectorSize)
#define LLVMGlobalGetValueType PLAIT_LLVM(LLVMGlobalGetValueType)
#define LLVMHalfTypeInContext PLAIT_LLVM(LLVMHalfTypeInContext)
#define LLVMInitializeX86AsmPrinter PLAIT_LLVM(LLVMInitializeX86AsmPrinter)
#define LLVMInitializeX86Target PLAIT_LLVM(LLVMInitializeX86Target)
#define LLVMInitializeX86TargetInfo PLAIT_LLVM(LLVMInitializeX86TargetInfo)
#define LLVMInitializeX86TargetMC PLAIT_LLVM(LLVMInitializeX86TargetMC)
#define LLVMInt1TypeInContext PLAIT_LLVM(LLVMInt1TypeInContext)
#define LLVMIntTypeInContext PLAIT_LLVM(LLVMIntTypeInContext)
#define LLVMIsConstant PLAIT_LLVM(LLVMIsConstant)
#define LLVMLookupIntrinsicID PLAIT_LLVM(LLVMLookupIntrinsicID)
#define LLVMMDNodeInContext2 PLAIT_LLVM(LLVMMDNodeInContext2)
#define LLVMMDStringInContext2 PLAIT_LLVM(LLVMMDStringInContext2)
#define LLVMMetadataAsValue PLAIT_LLVM(LLVMMetadataAsValue)
#define LLVMModuleCreateWithNameInContext PLAIT_LLVM(LLVMModuleCreateWithNameInContext)
#define LLVMOrcAbsoluteSymbols PLAIT_LLVM(LLVMOrcAbsoluteSymbols)
#define LLVMOrcCreateLLJIT PLAIT_LLVM(LLVMOrcCreateLLJIT)
#define LLVMOrcJITDylibDefine PLAIT_LLVM(LLVMOrcJITDylibDefine)
#define LLVMOrcLLJITAddObjectFile PLAIT_LLVM(LLVMOrcLLJITAddObjectFile)
#define LLVMOrcLLJITGetMainJITDylib PLAIT_LLVM(LLVMOrcLLJITGetMainJITDylib)
#define LLVMOrcLLJITLookup PLAIT_LLVM(LLVMOrcLLJITLookup)
#define LLVMOrcLLJITMangleAndIntern PLAIT_LLVM(LLVMOrcLLJITMangleAndIntern)
#define LLVMParseCommandLineOptions PLAIT_LLVM(LLVMParseCommandLineOptions)
#define LLVMPointerTypeInContext PLAIT_LLVM(LLVMPointerTypeInContext)
#define LLVMPositionBuilderAtEnd PLAIT_LLVM(LLVMPositionBuilderAtEnd)
#define LLVMPrintModuleToString PLAIT_LLVM(LLVMPrintModuleToString)
#define LLVMRunPasses PLAIT_LLVM(LLVMRunPasses)
#define LLVMSetAlignment PLAIT_LLVM(LLVMSetAlignment)
#define LLVMSetMetadata PLAIT_LLVM(LLVMSetMetadata)
#define LLVMSetModuleDataLayout PLAIT_LLVM(LLVMSetModuleDataLayout)
#define LLVMSetTarget PLAIT_LLVM(LLVMSetTarget)
#define LLVMTargetMachineEmitToMemoryBuffer PLAIT_LLVM(LLVMTargetMachineEmitToMemoryBuffer)
#define LLVMTypeOf PLAIT_LLVM(LLVMTypeOf)
#define LLVMValueAsMetadata PLAIT_LLVM(LLVMValueAsMetadata)
#define LLVMVectorType PLAIT_LLVM(LLVMVectorType)
#define LLVMVerifyModule PLAIT_LLVM(LLVMVerifyModule)
#define LLVMVoidTypeInContext PLAIT_LLVM(LLVMVoidTypeInContext)
